"""Retrieval: arms, fusion and the stages around them, composed anew for each call."""
